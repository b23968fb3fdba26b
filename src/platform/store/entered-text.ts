/** Whether a text has a character that people can see, not only blanks such as U+200B or Hangul fillers. */
export function isVisible(text: string): boolean {
  return /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)
}
