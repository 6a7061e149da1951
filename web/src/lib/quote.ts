// Texts of several lines as what they are given to has to read them.

/** A command that reads a text, up to a word that is no line of it. */
export function heredoc(command: string, of: string): string {
  let end = 'END'
  while (of.split('\n').includes(end)) end += '_'
  return `${command} <<'${end}'\n${of}\n${end}`
}

/** A text as Python writes it. */
export const pyText = (of: string): string => `"""\\\n${of.replaceAll('\\', '\\\\').replaceAll('"""', '\\"""')}"""`
