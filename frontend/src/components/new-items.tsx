import { ArrowUp } from 'lucide-react';
import { count } from '@/lib/format';

/** Shows the new items of a list that is being read, above its first row. */
export function NewItems({ newer, onShow }: { newer: number; onShow: () => void }) {
  if (newer === 0) return null;
  return (
    <button
      type="button"
      onClick={onShow}
      className="absolute inset-x-0 top-8 md:top-1 z-20 mx-auto flex w-fit items-center gap-1 rounded-full bg-accent px-3 py-1 text-xs font-medium text-on-accent shadow-float"
    >
      <ArrowUp className="size-3.5" aria-hidden />
      {`${count(newer)} new`}
    </button>
  );
}
