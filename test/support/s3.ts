import { AwsClient } from 'aws4fetch'

import { matchesIn } from './page-person.ts'
import { freePort, startProgram } from './programs.ts'

const BUCKET = 'campus-files'
const REGION = 'eu-central-1'

/** Starts an independent S3 server (moto), which checks signatures. */
export async function startS3(file: string) {
  const port = await freePort()
  const program = await startProgram({
    file,
    arguments: ['-H', '127.0.0.1', '-p', String(port)],
    cwd: '/',
    readyWhen: /Running on/,
  })
  const endpoint = `http://127.0.0.1:${port}`
  const credentials = await makeUser(endpoint)
  const user = new AwsClient({ ...credentials, service: 's3', region: REGION })
  await textOf(await fetch(`${endpoint}/${BUCKET}`, { method: 'PUT' }))
  // From here on, requests need a valid signature.
  await fetch(`${endpoint}/moto-api/reset-auth`, { method: 'POST', body: '0' })
  return {
    /** The variables of a service that stores its files on this server. */
    environment: {
      FILES_S3_ENDPOINT: endpoint,
      FILES_S3_BUCKET: BUCKET,
      FILES_S3_REGION: REGION,
      FILES_S3_ACCESS_KEY_ID: credentials.accessKeyId,
      FILES_S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    async listKeys() {
      const text = await textOf(await user.fetch(`${endpoint}/${BUCKET}`))
      return matchesIn(text, /<Key>([^<]+)<\/Key>/g)
    },
    kill: () => program.kill(),
    [Symbol.asyncDispose]: () => program.kill(),
  }
}

async function textOf(response: Response): Promise<string> {
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}

async function makeUser(endpoint: string) {
  const Statement = [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }]
  const policy = JSON.stringify({ Version: '2012-10-17', Statement })
  const ask = async (parameters: Record<string, string>) => {
    const credential = 'Credential=x/20260101/us-east-1/iam/aws4_request'
    const authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host, Signature=0`
    const body = new URLSearchParams({ Version: '2010-05-08', UserName: 'files', ...parameters })
    return await textOf(await fetch(endpoint, { method: 'POST', headers: { authorization }, body }))
  }
  await ask({ Action: 'CreateUser' })
  await ask({ Action: 'PutUserPolicy', PolicyName: 'files', PolicyDocument: policy })
  const key = await ask({ Action: 'CreateAccessKey' })
  const partOf = (name: string) => new RegExp(`<${name}>([^<]+)<`).exec(key)?.[1] ?? ''
  return { accessKeyId: partOf('AccessKeyId'), secretAccessKey: partOf('SecretAccessKey') }
}
