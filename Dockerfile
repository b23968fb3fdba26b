# An image of a Linux with node 24 and npm 11. The digest of one fixes a build for good.
ARG BASE_IMAGE=node:24-bookworm-slim

FROM ${BASE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# No script of any package runs: what is native comes built.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${BASE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/cache \
    MALLOC_ARENA_MAX=1 \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATA_DIR=/data \
    DEMO_DATA=off
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY config ./config
COPY views ./views
COPY src ./src
# Nothing is built. Loading the program once fills node's compile cache, which shortens each start.
RUN node --input-type=module --eval "await import('/app/src/compose.ts')" \
 && mkdir -m 0700 /data \
 && chown 1000:1000 /data

# By number, so that an orchestrator sees that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# node itself is the process that gets SIGTERM; it needs up to 10 seconds to finish what runs.
STOPSIGNAL SIGTERM
# The flags and MALLOC_ARENA_MAX limit the memory under load (docs/performance.md).
CMD ["node", "--max-semi-space-size=16", "--heap-growing-percent=120", "src/main.ts"]
