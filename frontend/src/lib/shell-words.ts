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

/**
 * Splits a text into its command lines, without prompts and comments. A line continues after a
 * backslash, within quotes, and if the next one begins with an option.
 */
export function commandLines(text: string): string[] {
  const lines: string[] = [];
  let quote = '';
  let start = 0;
  const end = (at: number, next: number) => {
    lines.push(text.slice(start, at).trim());
    start = next;
  };
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '#' && quote === '' && text.slice(start, i).trim() === '') {
      // Quotes in a comment have no meaning.
      const lineEnd = text.indexOf('\n', i);
      i = (lineEnd < 0 ? text.length : lineEnd) - 1;
      continue;
    }
    if (c === '\\' && quote !== "'") i += text.startsWith('\r\n', i + 1) ? 2 : 1;
    else if (quote !== '') quote = c === quote ? '' : quote;
    else if (c === '"' || c === "'") quote = c;
    else if (text.startsWith('&&', i)) end(i, i + 2);
    else if (c === '\n' && !/^[ \t]*-/.test(text.slice(i + 1, i + 200))) end(i, i + 1);
  }
  end(text.length, text.length);
  const all = lines.filter((line) => line !== '');
  const commands = all.filter((line) => !line.startsWith('#'));
  // "# " can be the prompt of a root shell.
  return (commands.length > 0 ? commands : all).map((line) => line.replace(/^[$>#]\s+/, ''));
}

const installers: Record<string, string[]> = {
  npm: ['install', 'i', 'ci', 'add'],
  pnpm: ['install', 'i', 'add'],
  yarn: ['install', 'add', 'global'],
  bun: ['install', 'i', 'add'],
  pip: ['install'],
  pip3: ['install'],
  pipx: ['install'],
  brew: ['install', 'tap'],
  cargo: ['install'],
  go: ['install', 'get'],
  gem: ['install'],
  apt: ['install', 'update'],
  'apt-get': ['install', 'update'],
  git: ['clone'],
  docker: ['pull', 'build'],
};

/** Whether a command line only installs something. */
export function isInstallation(words: string[]): boolean {
  const [program = '', verb = '', ...rest] = words;
  if (program === 'sudo') return isInstallation([verb, ...rest]);
  if (program === 'uv') return /^(?:tool|pip)$/.test(verb) && rest[0] === 'install';
  if (/^python[0-9.]*$/.test(program)) return verb === '-m' && rest[0] === 'pip';
  const verbs = Object.hasOwn(installers, program) ? installers[program] : undefined;
  return verbs?.includes(verb) ?? false;
}

/** Whether a word can be the program of a command line, and is not the beginning of a sentence. */
export function isCommand(word: string | undefined): boolean {
  return (
    word !== undefined &&
    !['cd', 'export', 'source', 'set'].includes(word) && // commands of the shell
    (/^[A-Za-z]:\\/.test(word) ||
      (/^[a-z0-9~$./\\][^\s"<>|;]*$/.test(word) &&
        !/^[a-z][a-z0-9+.-]*:(?:$|\/\/|mcp\/)/i.test(word)))
  );
}

const runners =
  /^(?:npx|uvx|bunx|pnpm|npm|yarn|node|python[0-9.]*|uv|docker|podman|bun|deno|java|dotnet|go|cargo|ruby|php|sh|bash|pipx)$/;

/** Whether words are a sentence rather than a program with its arguments. */
export function looksLikeProse(words: string[]): boolean {
  const [program = '', ...rest] = words;
  if (runners.test(program) || /[/\\]|\.(?:exe|cmd|bat|js|py|sh)$/.test(program)) return false;
  if (rest.some((word) => /^-|[/\\=@]/.test(word))) return false;
  if (
    rest.some((word) => /^(?:the|an?|is|are|this|that|not|and|or|of|for|with|your?)$/i.test(word))
  )
    return true;
  const plain = words.every((word) => /^[\p{L}'’]+[.,:;!?]?$/u.test(word));
  return plain ? words.length > 3 : /[a-z][.,:;!?]$/.test(words.at(-1) ?? '');
}
