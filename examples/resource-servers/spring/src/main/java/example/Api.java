package example;

// An API in Spring Boot that accepts this service's access tokens.
//   ISSUER=https://id.example CLIENT_ID=rs_… CLIENT_SECRET=… mvn spring-boot:run
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.authentication.AuthenticationServiceException;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.OAuth2AuthenticatedPrincipal;
import org.springframework.security.oauth2.server.resource.introspection.BadOpaqueTokenException;
import org.springframework.security.oauth2.server.resource.introspection.OpaqueTokenIntrospector;
import org.springframework.security.oauth2.server.resource.introspection.SpringOpaqueTokenIntrospector;
import org.springframework.security.oauth2.server.resource.web.authentication.BearerTokenAuthenticationFilter;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class Api {
  private static final String SCOPE = "account:read";

  public static void main(String[] arguments) {
    SpringApplication.run(Api.class, arguments);
  }

  @Bean
  SecurityFilterChain rules(HttpSecurity http, @Value("${ISSUER}") String issuer) throws Exception {
    return http
        .authorizeHttpRequests(
            requests -> requests.requestMatchers("/orders").hasAuthority("SCOPE_" + SCOPE).anyRequest().denyAll())
        .oauth2ResourceServer(
            server ->
                server
                    .opaqueToken(Customizer.withDefaults())
                    .authenticationEntryPoint(
                        (request, response, failure) -> challenge(response, 401, "invalid_token", issuer))
                    .accessDeniedHandler(
                        (request, response, denied) -> challenge(response, 403, "insufficient_scope", issuer)))
        // Spring passes this error to the web server, which would respond with 500. The token could not be
        // checked, so send no challenge.
        .addFilterBefore(
            (request, response, chain) -> {
              try {
                chain.doFilter(request, response);
              } catch (AuthenticationServiceException failure) {
                var answer = (HttpServletResponse) response;
                answer.setHeader("Retry-After", "1");
                answer.setStatus(503);
              }
            },
            BearerTokenAuthenticationFilter.class)
        .build();
  }

  private static void challenge(HttpServletResponse response, int status, String error, String issuer) {
    var metadata = issuer + "/.well-known/oauth-protected-resource";
    response.setHeader(
        "WWW-Authenticate",
        "Bearer error=\"%s\", scope=\"%s\", resource_metadata=\"%s\"".formatted(error, SCOPE, metadata));
    response.setStatus(status);
  }

  // Spring checks only `active` and `exp`. A refresh token can be active too, but has no aud or token_type.
  @Bean
  OpaqueTokenIntrospector introspector(
      @Value("${spring.security.oauth2.resourceserver.opaquetoken.introspection-uri}") String uri,
      @Value("${spring.security.oauth2.resourceserver.opaquetoken.client-id}") String id,
      @Value("${spring.security.oauth2.resourceserver.opaquetoken.client-secret}") String secret,
      @Value("${ISSUER}") String issuer) {
    var service = new SpringOpaqueTokenIntrospector(uri, id, secret);
    return token -> {
      OAuth2AuthenticatedPrincipal told = service.introspect(token);
      if (!List.of(issuer).equals(told.getAttribute("aud")) || !"Bearer".equals(told.getAttribute("token_type"))) {
        throw new BadOpaqueTokenException("not an access token of this service");
      }
      return told;
    };
  }

  record Hello(String hello, String site, List<String> roles) {}

  @GetMapping("/orders")
  Hello orders(@AuthenticationPrincipal OAuth2AuthenticatedPrincipal token) {
    return new Hello(token.getAttribute("sub"), token.getAttribute("org_id"), token.getAttribute("roles"));
  }
}
