/** The tables of what operators change; `schema.ts` has the rules that they follow too. */

export interface OperatedTables {
  section: {
    id: string
    course_id: string
    position: number
    title: string
    created_at: number
  }
  stored_file: {
    id: string
    site_id: string
    name: string
    media_type: string
    size_bytes: number
    sha256: string
    created_by: string | null
    created_at: number
  }
  site_appearance: {
    site_id: string
    display_name: string | null
    logo_file_id: string | null
    accent_color: string | null
    background_color: string | null
    sign_in_words: string | null
    consent_words: string | null
    updated_at: number
  }
  post: {
    id: string
    site_id: string
    topic: string
    title: string
    body: string
    link: string | null
    created_by: string | null
    created_at: number
    updated_at: number
    published_at: number | null
    delivered_to: string | null
    delivered_at: number | null
    removed_at: number | null
  }
  change_key: {
    site_id: string
    client_id: string
    key: string
    digest: string
    made_id: string
    expires_at: number
  }
}
