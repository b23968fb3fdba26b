import { makeDownloadLinks } from './download-links.ts'
import { type FileSettings, openFiles } from './open-file-storage.ts'

export interface FileConfiguration extends Omit<FileSettings, 'now'> {
  readonly baseUrl: string
  readonly service: {
    readonly files: {
      readonly fileBytesMax: number
      readonly siteFilesMax: number
      readonly siteBytesMax: number
      readonly uploadSeconds: number
      readonly downloadSeconds: number
    }
  }
}

interface FilePorts extends Pick<FileSettings, 'now'> {
  /** Keys that sign the addresses of downloads, the current one first. */
  readonly downloadKeys: readonly Buffer[]
}

/** Where files are, and the links to them. */
export async function makeFiles(config: FileConfiguration, { downloadKeys, now }: FilePorts) {
  const { baseUrl, service } = config
  const seconds = service.files.downloadSeconds
  const downloadLinks = makeDownloadLinks({ keys: downloadKeys, baseUrl, seconds, now })
  return {
    files: await openFiles({ ...config, now }),
    uploadLimits: service.files,
    downloadLinks,
    downloadAddress: downloadLinks.addressFor,
  }
}
