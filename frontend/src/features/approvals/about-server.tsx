import { Link } from '@tanstack/react-router';

/** The link of a card to the page of its server. */
export function AboutServer({ id }: { id: string }) {
  return (
    <Link
      to="/servers/$id"
      params={{ id }}
      className="ml-auto self-center text-sm text-accent underline-offset-2 hover:underline"
    >
      About this server
    </Link>
  );
}
