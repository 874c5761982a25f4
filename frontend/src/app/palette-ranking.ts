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
  for (const command of commands) {
    const score = scoreOf(command.text.toLowerCase(), words);
    if (score > 0) ranked.push({ command, score });
  }
  return ranked
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ command }) => command);
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
