import { openAsBlob } from 'node:fs'
import { Readable } from 'node:stream'

import { AwsV4Signer } from 'aws4fetch'

import { storageUnavailable } from '../../platform/http/errors.ts'
import { type Draft, FileMissing, type FileStorage } from './file-storage.ts'

/** Where an S3-compatible storage is, and who we are there. */
export interface S3Location {
  /** Scheme, host and port; the bucket is the first segment of its paths. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** How long the storage has until the first byte of its answer; what follows may take longer. */
const ANSWER_MS = 20_000

/** What every storage with the S3 API understands: one object each, by signature v4. */
export function s3Storage(location: S3Location): FileStorage {
  const { endpoint, bucket, ...credentials } = location
  const ask = async (key: string, { method, headers = {}, draft }: Asking) => {
    const address = `${endpoint}/${bucket}/${key}`
    const signer = new AwsV4Signer({ url: address, method, headers, service: 's3', ...credentials })
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), ANSWER_MS)
    try {
      const signed = await signer.sign()
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        // A blob of a file is read as it is sent, and its length is known, which the S3 API demands.
        ...(draft && { body: await openAsBlob(draft.path) }),
        redirect: 'error',
        signal: giveUp.signal,
      })
    } catch (cause) {
      throw storageUnavailable(cause)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    async put(key, draft) {
      // Signed with the digest of the content, so that the storage refuses what arrives otherwise.
      const headers = { 'content-type': draft.mediaType, 'x-amz-content-sha256': draft.sha256 }
      const response = await ask(key, { method: 'PUT', headers, draft })
      await response.body?.cancel()
      if (!response.ok) throw refusedBy(response)
    },
    async get(key, range) {
      const headers = range && { range: `bytes=${range.start}-${range.end}` }
      const response = await ask(key, { method: 'GET', ...(headers && { headers }) })
      if (response.ok && response.body) return Readable.fromWeb(response.body)
      await response.body?.cancel()
      if (response.status === 404) throw new FileMissing('the bucket has no such object')
      throw refusedBy(response)
    },
    async remove(key) {
      const response = await ask(key, { method: 'DELETE' })
      await response.body?.cancel()
      if (!response.ok && response.status !== 404) throw refusedBy(response)
    },
  }
}

interface Asking {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly headers?: Record<string, string>
  readonly draft?: Draft
}

function refusedBy({ status }: Response) {
  return storageUnavailable(new Error(`the file storage answered ${status}`))
}
