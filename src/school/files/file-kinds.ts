/** A kind of file, detected from the first bytes of an upload and never from the declared type. */
export interface FileKind {
  readonly mediaType: string
  /** File extensions, the preferred one first. */
  readonly extensions: readonly string[]
  readonly begins: (head: Buffer) => boolean
}

/** The number of bytes that suffice to detect the kind. */
export const HEAD_BYTES = 64

/**
 * The accepted kinds. Markup (SVG, HTML, XML) is excluded, because its scripts could run in our origin.
 * Sources: PNG §5.2, JPEG (T.81) B.1.1, GIF89a §17, RFC 9649, ISO 32000-1 §7.5.2, EPUB OCF §4.3, APPNOTE.TXT §4.3.6,
 * ISO/IEC 11172-3 §2.4.1.3, ISO/IEC 14496-12 §4.3.
 */
const kinds: readonly FileKind[] = [
  fileKind('image/png', ['png'], (head) => head.indexOf('89504e470d0a1a0a', 0, 'hex') === 0),
  fileKind('image/jpeg', ['jpg', 'jpeg'], (head) => head.indexOf('ffd8ff', 0, 'hex') === 0),
  fileKind('image/webp', ['webp'], (head) => has(head, 0, 'RIFF') && has(head, 8, 'WEBP')),
  fileKind('image/gif', ['gif'], (head) => has(head, 0, 'GIF87a') || has(head, 0, 'GIF89a')),
  fileKind('application/pdf', ['pdf'], (head) => has(head, 0, '%PDF-')),
  // An EPUB is also a ZIP archive, so test for EPUB first. Its first entry is uncompressed and names the type.
  fileKind(
    'application/epub+zip',
    ['epub'],
    (head) => isZip(head) && has(head, 30, 'mimetypeapplication/epub+zip'),
  ),
  fileKind('application/zip', ['zip'], isZip),
  fileKind('audio/mpeg', ['mp3'], (head) => has(head, 0, 'ID3') || isMpegFrame(head)),
  fileKind('video/mp4', ['mp4', 'm4v'], (head) => has(head, 4, 'ftyp') && isMp4Brand(head)),
]

export const mediaTypes: readonly string[] = kinds.map(({ mediaType }) => mediaType)

/** The uses of a file, with the accepted media types and the maximum size. */
export const filePurposes = {
  DOWNLOAD: { mediaTypes, bytesMax: Number.POSITIVE_INFINITY },
  // Every sign-in page of the site loads the logo. GIF is excluded, because many GIFs are animated.
  LOGO: { mediaTypes: ['image/png', 'image/jpeg', 'image/webp'], bytesMax: 512 * 1024 },
}

export type FilePurpose = keyof typeof filePurposes

/** Returns the file extensions of media types, such as `.png`. */
export function extensionsOf(types: readonly string[]): string[] {
  return kinds.flatMap(({ mediaType, extensions }) =>
    types.includes(mediaType) ? extensions.map((extension) => `.${extension}`) : [],
  )
}

/** Detects the kind of a file from its first `HEAD_BYTES`. Returns undefined if the kind is not accepted. */
export function kindOfFile(head: Buffer): FileKind | undefined {
  return kinds.find(({ begins }) => begins(head))
}

export function kindOfType(mediaType: string): FileKind | undefined {
  return kinds.find((candidate) => candidate.mediaType === mediaType)
}

/** Whether a file name has an extension of this kind. */
export function fitsName({ extensions }: FileKind, name: string): boolean {
  return extensions.some((extension) => name.toLowerCase().endsWith(`.${extension}`))
}

function fileKind(mediaType: string, extensions: readonly string[], begins: FileKind['begins']) {
  return { mediaType, extensions, begins }
}

function has(head: Buffer, offset: number, text: string): boolean {
  return head.toString('latin1', offset, offset + text.length) === text
}

function isZip(head: Buffer): boolean {
  // The second signature marks an empty archive.
  return has(head, 0, 'PK\x03\x04') || has(head, 0, 'PK\x05\x06')
}

/** Whether the file starts with an MPEG frame: eleven sync bits, any version, layer III. */
function isMpegFrame(head: Buffer): boolean {
  return head[0] === 0xff && ((head[1] ?? 0) & 0xe6) === 0xe2
}

function isMp4Brand(head: Buffer): boolean {
  return /^(iso[2-9m]|mp4[12]|avc1|M4V |MSNV|dash)/.test(head.toString('latin1', 8, 12))
}
