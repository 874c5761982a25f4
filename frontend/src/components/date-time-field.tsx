/** A local date and time; the URL contains it in UTC. */
export function DateTimeField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <label className="flex items-center gap-2 px-1 text-xs text-ink3">
      <span className="w-8 shrink-0">{label}</span>
      <input
        type="datetime-local"
        value={value === undefined ? '' : local(value)}
        onChange={(event) => {
          const ms = Date.parse(event.target.value);
          onChange(Number.isNaN(ms) ? undefined : new Date(ms).toISOString());
        }}
        className="h-7 min-w-0 flex-1 rounded-md border border-strong bg-panel px-1.5 text-xs text-ink"
      />
    </label>
  );
}

function local(iso: string): string {
  const d = new Date(iso);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
