import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { isLoopbackInterface, isLoopbackUrl } from '../../platform/http/loopback.ts'
import { composed, type MailTransport, nodemailer } from './letter.ts'

/** How many messages the folder keeps. */
export const MAIL_FILES_MAX = 200
/** The file name of a message: its time in milliseconds and its id. */
const FILE_NAME = /^\d{13}-[0-9a-f-]{36}\.eml$/

/** Returns the folder of messages in a data folder. */
export const mailFolder = (dataDir: string) => join(dataDir, 'mail')

interface DemoSettings {
  readonly dataDir: string
  readonly baseUrl: string
  readonly host: string
  readonly smtpUrl: string | undefined
}

/** Returns the folder whose messages anyone may read: those of sample accounts, only on this machine. */
export function demoMailFolder(
  { dataDir, baseUrl, host, smtpUrl }: DemoSettings,
  isDemo: boolean,
): string | undefined {
  const isLocal = isLoopbackUrl(baseUrl) && isLoopbackInterface(host)
  return isDemo && isLocal && smtpUrl === undefined ? mailFolder(dataDir) : undefined
}

/** Writes each message to a file, which only the current user can read. Deletes the oldest files. */
export function openMailFolder(folder: string): MailTransport {
  return {
    async deliver(letter) {
      const options = { streamTransport: true, buffer: true, newline: 'unix' } as const
      const { message } = await (await nodemailer())
        .createTransport(options)
        .sendMail(composed(letter))
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const path = join(folder, `${String(letter.createdAt).padStart(13, '0')}-${letter.id}.eml`)
      await writeFile(`${path}.draft`, readable(String(message)), { mode: 0o600 })
      await rename(`${path}.draft`, path)
      for (const old of (await mailFiles(folder)).slice(MAIL_FILES_MAX)) {
        await rm(join(folder, old), { force: true })
      }
    },
    close() {},
  }
}

/** Lists the messages in the folder, the latest first. */
export async function mailFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => FILE_NAME.test(name))
    .toSorted((one, other) => (one < other ? 1 : -1))
}

/** Reads what `openMailFolder` wrote. */
export function readMailFile(content: string) {
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(content)?.[1] ?? ''
  const part = partsOf(content).find((each) => each.includes('text/html')) ?? ''
  return {
    subject: header('Subject'),
    to: header('To'),
    date: header('Date'),
    html: part.slice(part.indexOf('\n\n') + 2),
  }
}

/** Replaces the encodings of a message by plain UTF-8 (RFC 6532), for people who open the file. */
function readable(message: string): string {
  const [head = '', ...parts] = partsOf(message)
  const words = head
    .replace(/\n[ \t]+/g, ' ')
    .replace(/\?= =\?UTF-8\?Q\?/gi, '')
    .replace(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_, word: string) => decoded(word.replaceAll('_', ' ')))
  const texts = parts.map((part) => {
    const at = part.indexOf('\n\n')
    const isEncoded = part.slice(0, at).includes('quoted-printable')
    return isEncoded
      ? part.slice(0, at).replace('quoted-printable', '8bit') + decoded(part.slice(at))
      : part
  })
  return [words, ...texts].join(`--${boundaryOf(message)}`)
}

const boundaryOf = (message: string) => /boundary="([^"]+)"/.exec(message)?.[1] ?? ''

const partsOf = (message: string) => message.split(`--${boundaryOf(message)}`)

function decoded(quotedPrintable: string): string {
  const bytes = quotedPrintable
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
