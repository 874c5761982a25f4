import { defaultFilter } from 'cmdk';

export interface PaletteCommand {
  id: string;
  text: string;
  kind: string;
  run: () => void;
}

/** The best matches first; every word must match. Listing all tools would be slow. */
export function best(commands: PaletteCommand[], typed: string, limit: number): PaletteCommand[] {
  const words = typed.split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands.slice(0, limit);
  return commands
    .map((command) => ({ command, score: scoreOf(command.text, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ command }) => command);
}

const scoreOf = (text: string, words: string[]): number =>
  words.reduce((score, word) => score * defaultFilter(text, word), 1);
