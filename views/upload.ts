import { foreignName } from './client-view.ts'
import { inputField, submitButton } from './forms.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import type { SiteLook } from './site-look.ts'
import { text } from './text.ts'

export interface UploadPage {
  readonly action: string
  /** The name of the application that requested the file. The application may have chosen the name itself. */
  readonly appName: string
  readonly siteName: string
  readonly look: SiteLook | undefined
  readonly extensions: readonly string[]
  readonly bytesMax: number
  /** Why the file was rejected; `file` if, for example, it is empty or has an unusable name. */
  readonly problem?: 'large' | 'type' | 'file' | 'other'
  /** The stored file, for use in the assistant's next call. */
  readonly file?: { readonly id: string; readonly name: string }
}

/** Asks for a file, or confirms its upload. The form has one field, because `openFormFile` expects a single part. */
export function uploadPage({ problem, file, ...page }: UploadPage): Page {
  const names = { app: foreignName(page.appName), site: html`<bdi>${page.siteName}</bdi>` }
  const megabytes = Math.floor((page.bytesMax / 1_048_576) * 10) / 10
  const form = html`<p>${text('upload.intro', names)}</p>
<form method="post" enctype="multipart/form-data" action="${page.action}">
${inputField({
  id: 'file',
  label: text('upload.file'),
  hint: text('upload.limits', { types: page.extensions.join(' '), megabytes }),
  problem: problem && text('upload.problem', { problem }),
  attributes: html` type="file" accept="${page.extensions.join(',')}" required`,
})}
${submitButton('upload', text('upload.send'))}
</form>`
  const done = html`<p>${text('upload.done', { ...names, file: foreignName(file?.name) })}</p>
<p>${text('upload.id')} <code id="file-id" translate="no">${file?.id}</code></p>`
  return {
    title: text('upload.title', { state: file ? 'done' : 'new' }),
    isWrong: problem !== undefined,
    id: 'upload-page',
    look: page.look,
    body: file ? done : form,
  }
}
