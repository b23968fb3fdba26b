import { writeScope } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { faults, privateAnswer, refusal, shared } from './openapi-answers.ts'
import { closed, named, said, text } from './openapi-shapes.ts'

/** The components that the answers below name. */
export const fileSchemas = {
  StoredFile: closed({
    id: text,
    name: text,
    mediaType: said('what its bytes are, as a media type'),
    sizeBytes: { type: 'integer', minimum: 1 },
    sha256: said('the digest of its bytes, in hexadecimal digits'),
  }),
}

/** The one change of the Admin API that is no GraphQL, because its content is a file. */
export function filePaths({ service }: ServiceFacts) {
  const { fileBytesMax, uploadSeconds } = service.files
  return {
    [paths.adminFiles]: {
      post: {
        operationId: 'uploadFile',
        summary: 'Keeps a file of the site',
        description:
          `The body is the file itself, at most ${fileBytesMax} bytes in at most ${uploadSeconds} seconds. ` +
          'What it is, is found in its bytes; its name and its Content-Type (if not ' +
          '`application/octet-stream`) have to say the same. The same bytes under the same name are the ' +
          'file that is there already.',
        tags: ['Admin API'],
        security: [{ oauth: [writeScope('storage')] }],
        parameters: [
          {
            name: 'name',
            in: 'query' as const,
            required: true,
            description: 'Its name, with the end that files of its kind have: `workbook.pdf`',
            schema: { type: 'string', maxLength: 200 },
          },
        ],
        requestBody: { required: true, content: { 'application/octet-stream': { schema: {} } } },
        responses: {
          200: privateAnswer('The file, which was there already.', named('StoredFile')),
          201: privateAnswer('The file.', named('StoredFile')),
          400: refusal('There is no name that can be kept, or no body.', {
            errors: ['invalid_request'],
          }),
          401: shared('InvalidToken'),
          403: shared('InsufficientScope'),
          408: refusal('It took too long.', { errors: ['invalid_request'] }),
          413: refusal('The file is too large, or the site has as many as it may have.', {
            errors: ['invalid_request', 'limit_reached'],
          }),
          415: refusal('It is no kind that is kept, or says that it is another than it is.', {
            errors: ['unsupported_file', 'invalid_request'],
          }),
          ...faults,
        },
      },
    },
  }
}
