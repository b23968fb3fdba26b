import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { isLoopbackInterface, isLoopbackUrl } from '../../platform/http/loopback.ts'
import { composeMessage, type MailTransport, nodemailer } from './smtp.ts'

/** The maximum number of messages that the folder keeps. */
export const MAIL_FILES_MAX = 200
/** The pattern of file names: the time of the message in milliseconds, and its id. */
const FILE_NAME = /^\d{13}-[0-9a-f-]{36}\.eml$/

/** Returns the path of the mail folder below a data folder. */
export const mailFolder = (dataDir: string) => join(dataDir, 'mail')

type DemoSettings = Readonly<Record<'dataDir' | 'baseUrl' | 'host', string>> & {
  readonly smtpUrl: string | undefined
}

/** Returns the mail folder that the /mail pages show; undefined unless this is a local demo without a mail server. */
export function demoMailFolder(
  { dataDir, baseUrl, host, smtpUrl }: DemoSettings,
  isDemo: boolean,
): string | undefined {
  const isLocal = isLoopbackUrl(baseUrl) && isLoopbackInterface(host)
  return isDemo && isLocal && smtpUrl === undefined ? mailFolder(dataDir) : undefined
}

/** Creates a transport that writes messages to files that only the current user can read. Deletes old files. */
export function openMailFolder(folder: string): MailTransport {
  return {
    async deliver(letter) {
      const options = { streamTransport: true, buffer: true, newline: 'unix' } as const
      const { subject, headers, text, html, ...rest } = composeMessage(letter)
      const { message } = await (await nodemailer()).createTransport(options).sendMail({
        ...rest,
        headers: { ...headers, Subject: { prepared: true, value: subject } },
        text: readable('plain', text),
        html: readable('html', html),
      })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const path = join(folder, `${String(letter.createdAt).padStart(13, '0')}-${letter.id}.eml`)
      await writeFile(`${path}.draft`, message, { mode: 0o600 })
      await rename(`${path}.draft`, path)
      for (const old of (await mailFiles(folder)).slice(MAIL_FILES_MAX)) {
        await rm(join(folder, old), { force: true })
      }
    },
    close() {},
  }
}

/** Returns a part of a message as unencoded UTF-8, so people can read the file. */
function readable(type: 'plain' | 'html', content: string) {
  const head = `Content-Type: text/${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit`
  return { raw: `${head}\n\n${content}` }
}

/** Lists the file names of the messages in a folder, the latest first. */
export async function mailFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => FILE_NAME.test(name))
    .toSorted((one, other) => (one < other ? 1 : -1))
}

/** Parses a message that the transport of `openMailFolder` has written. */
export function readMailFile(content: string) {
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(content)?.[1] ?? ''
  const [, html = ''] = /^Content-Type: text\/html;.*?\n\n(.*)\n--/ms.exec(content) ?? []
  return { subject: header('Subject'), to: header('To'), date: header('Date'), html }
}
