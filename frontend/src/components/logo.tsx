/** The mark: a gate tower, its bridge let down, the chain taut. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="fill-[#0f6577]" />
      <path
        d="M7 25V8.5h2.7v2.2h2.3V8.5h3v2.2h2.3V8.5H20V25z"
        transform="translate(-1.6 0)"
        fill="#fff"
      />
      <path d="M9.6 25v-4.2a2.3 2.3 0 0 1 4.6 0V25z" className="fill-[#0f6577]" />
      <path d="M18.6 13.2 27 23" stroke="#fff" strokeWidth="1.5" strokeLinecap="round" />
      <path d="M18.8 24h8.4" stroke="#f6b84f" strokeWidth="2.6" strokeLinecap="round" />
    </svg>
  );
}
