import type { LucideIcon } from 'lucide-react';

export interface PaletteCommand {
  id: string;
  text: string;
  kind: string;
  icon: LucideIcon;
  run: () => void;
}

/** The commands that match the typed text, the best match first. */
export function rankCommands(
  commands: PaletteCommand[],
  typed: string,
  limit: number,
): PaletteCommand[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands.slice(0, limit);
  const ranked: { command: PaletteCommand; score: number }[] = [];
  for (const score of [scoreOf, scoreOfLetters]) {
    for (const command of commands) {
      const points = score(command.text.toLowerCase(), words);
      if (points > 0) ranked.push({ command, score: points });
    }
    if (ranked.length > 0) break;
  }
  return ranked
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ command }) => command);
}

/** For words with missing letters: 0 if the letters of a word do not occur in their order. */
function scoreOfLetters(text: string, words: string[]): number {
  for (const word of words) {
    let at = -1;
    for (const letter of word) {
      at = text.indexOf(letter, at + 1);
      if (at < 0) return 0;
    }
  }
  return 1 / (1 + text.length);
}

/** 0 if a word is missing. A match at the start of the text outranks one at the start of a word. */
function scoreOf(text: string, words: string[]): number {
  let score = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    score += at === 0 ? 3 : /[\s_./:-]/.test(text.charAt(at - 1)) ? 2 : 1;
  }
  return score + 1 / (1 + text.length);
}
