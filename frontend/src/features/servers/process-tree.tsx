import { classes } from '@/lib/class-names';
import { bytes, escapeControlCharacters } from '@/lib/format';
import type { ProcessUsage } from '@/types/api';

/** The processes of a server as a tree. */
export function ProcessTree({ tree }: { tree: ProcessUsage[] }) {
  const ids = new Set(tree.map((p) => p.pid));
  const depth = (p: ProcessUsage, limit = 6): number => {
    const parent = tree.find((other) => other.pid === p.ppid);
    return parent && ids.has(p.ppid) && limit > 0 ? 1 + depth(parent, limit - 1) : 0;
  };
  const indents = ['pl-0', 'pl-4', 'pl-8', 'pl-12', 'pl-16', 'pl-20', 'pl-24'];
  return (
    <ul className="space-y-0.5 text-sm">
      {tree.map((p) => (
        <li key={p.pid} className="flex gap-3">
          <span className={classes('min-w-0 flex-1 truncate font-mono text-xs', indents[depth(p)])}>
            {escapeControlCharacters(p.name)}
          </span>
          <span className="text-xs text-ink3">{`PID ${p.pid}`}</span>
          <span className="w-16 text-right text-ink2">{bytes(p.rssBytes)}</span>
        </li>
      ))}
    </ul>
  );
}
