import { RequestError, request } from '@/lib/request';
import { keepSessionKey, takeCode } from '@/lib/session-key';

/**
 * Exchanges the one-time code in the URL, if there is one, for a session.
 * Resolves to false only if the daemon rejected the code.
 */
export async function exchangeSignInCode(location: Location, history: History): Promise<boolean> {
  const code = takeCode(location, history);
  if (code === null) return true;
  try {
    const { key } = await request<{ key: string }>('POST', '/api/session', { body: { code } });
    keepSessionKey(key);
    return true;
  } catch (error) {
    return error instanceof RequestError && error.status === 0;
  }
}
