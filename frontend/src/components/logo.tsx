/** The mark: a gate tower, its bridge let down, the chain taut. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="fill-[#0f6577]" />
      <path
        d="M8 24.5V9.5h2.6v2h2.8v-2h2.6v15"
        fill="none"
        stroke="#fff"
        strokeWidth="2.2"
        strokeLinejoin="round"
      />
      <path d="M16 23.4h9.5" stroke="#f3b34c" strokeWidth="2.6" strokeLinecap="round" />
      <path d="M16 12.5 25 22.6" stroke="#fff" strokeWidth="1.6" strokeLinecap="round" />
    </svg>
  );
}
