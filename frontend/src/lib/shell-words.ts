/** Splits a command line into words as a POSIX shell would, without expanding anything. */
export function shellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  const add = (text: string) => {
    word = (word ?? '') + text;
  };
  for (let i = 0; i < line.length; i++) {
    const c = line.charAt(i);
    const next = line.charAt(i + 1);
    if (quote === "'") {
      if (c === "'") quote = '';
      else add(c);
    } else if (c === '\\' && (next === '\n' || next === '\r')) {
      i += line.startsWith('\r\n', i + 1) ? 2 : 1; // the line continues
    } else if (quote === '"') {
      if (c === '"') quote = '';
      else if (c === '\\' && '"\\$`'.includes(next) && next) add(line.charAt(++i));
      else add(c);
    } else if (c === "'" || c === '"') {
      quote = c;
      add('');
    } else if (c === '\\' && next) add(line.charAt(++i));
    else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else add(c);
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** One word for a POSIX shell, quoted if necessary. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
