/** A notice that a form contains a restored draft. */
export function DraftRestored({ onDiscard }: { onDiscard: () => void }) {
  return (
    <p role="status" className="flex items-center gap-1.5 text-xs text-ink2">
      Restored your draft
      <span aria-hidden>·</span>
      <button
        type="button"
        onClick={onDiscard}
        className="rounded text-accent underline-offset-2 hover:underline"
      >
        Discard
      </button>
    </p>
  );
}
