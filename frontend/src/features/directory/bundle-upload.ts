import { request } from '@/lib/request';
import type { Upload } from '@/types/api';

/** The largest bundle that the daemon accepts. */
const maxBundle = 256 * 1024 * 1024;

const part = 1536 * 1024; // divisible by 3, so that no base64 padding is needed between parts

/** Why a file cannot be a bundle, or undefined. Only its name and its size are checked. */
export function bundleFileError(file: { name: string; size: number }): string | undefined {
  if (!/\.(mcpb|dxt)$/i.test(file.name)) return 'this is not a .mcpb file';
  if (file.size === 0) return 'the file is empty';
  if (file.size > maxBundle) return 'the file is larger than 256 MB';
  return undefined;
}

/** Uploads a file to the daemon in parts, and returns the ID of the upload. */
export async function sendFile(
  file: Blob,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<string> {
  const { id } = await request<Upload>('POST', '/api/v1/directory/uploads', {
    body: { size: file.size },
    signal,
  });
  try {
    for (let offset = 0; offset < file.size; offset += part) {
      const bytes = new Uint8Array(await file.slice(offset, offset + part).arrayBuffer());
      await request<Upload>('PUT', `/api/v1/directory/uploads/${id}`, {
        body: { offset, part: base64(bytes) },
        signal,
      });
      onProgress(Math.min(1, (offset + part) / file.size));
    }
  } catch (error) {
    deleteUpload(id);
    throw error;
  }
  return id;
}

/** Deletes an upload that is not installed. */
export function deleteUpload(id: string): void {
  request<unknown>('DELETE', `/api/v1/directory/uploads/${id}`).catch(() => undefined);
}

/** Converts in chunks, because a call accepts only a limited number of arguments. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text);
}
