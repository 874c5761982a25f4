import { useId } from 'react';

/** The mark: two towers and the bridge between them, as build/icons/app.svg draws the program's icon. */
export function Logo({ className }: { className?: string }) {
  const sky = useId();
  return (
    <svg viewBox="0 0 256 256" className={className} aria-hidden="true" focusable="false">
      <defs>
        <linearGradient id={sky} x1="0" y1="0" x2="0" y2="1">
          <stop offset="0" stopColor="#15829a" />
          <stop offset="1" stopColor="#0b4a58" />
        </linearGradient>
      </defs>
      <rect x="8" y="8" width="240" height="240" rx="54" fill={`url(#${sky})`} />
      <path d="M90 84l38 66M166 84l-38 66" stroke="#8ed3df" strokeWidth="6" strokeLinecap="round" />
      <path d="M90 156H166" stroke="#f6b84f" strokeWidth="18" />
      <path
        d="M40 56h14v15h9V56h14v15h9V56h14v134H40zM156 56h14v15h9V56h14v15h9V56h14v134h-60z"
        fill="#fff"
      />
      <path d="M60 190v-24a10 10 0 0 1 20 0v24zM176 190v-24a10 10 0 0 1 20 0v24z" fill="#0b4a58" />
      <path
        d="M40 212q11-10 22 0t22 0 22 0 22 0 22 0 22 0 22 0 22 0"
        fill="none"
        stroke="#57c4d6"
        strokeWidth="8"
        strokeLinecap="round"
      />
    </svg>
  );
}
