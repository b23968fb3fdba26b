/** Whether the text has a visible character. Spaces, U+200B and Hangul fillers, for example, are invisible. */
export function isVisible(text: string): boolean {
  return /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)
}
