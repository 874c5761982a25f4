const two = (n: number) => String(n).padStart(2, '0');

/** The name of a backup that is made now. */
export function backupName(now: Date): string {
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-');
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('');
  return `drawbridge-history-${day}-${time}.db`;
}

/** A path from the root, of Unix or of Windows. */
export function isAbsolute(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
}

/** A file in a folder, written as the folder's system writes it. */
export function joined(folder: string, name: string): string {
  const sign = /^(?:[A-Za-z]:|\\\\)/.test(folder) && !folder.includes('/') ? '\\' : '/';
  return `${folder.replace(/[\\/]+$/, '')}${sign}${name}`;
}

/** The folder that a file is in. */
export function folderOf(file: string): string {
  return file.replace(/[\\/][^\\/]*$/, '');
}
