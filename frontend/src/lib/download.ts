/** Downloads bytes as a file. Its name is chosen by the page, because a server's name could deceive. */
export function downloadBase64(base64: string, kind: string): void {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return; // not base64, so there are no bytes
  }
  downloadBlob(
    new Blob([bytes], { type: 'application/octet-stream' }),
    `drawbridge-${word(kind)}.bin`,
  );
}

export function downloadText(text: string, name: string): void {
  downloadBlob(new Blob([text], { type: 'text/plain' }), name);
}

function word(kind: string): string {
  return kind.replace(/[^a-z]/g, '').slice(0, 20) || 'content';
}

export function downloadBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
