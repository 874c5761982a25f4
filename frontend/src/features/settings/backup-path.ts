const two = (n: number) => String(n).padStart(2, '0');

/** The default file name of a backup. */
export function backupName(now: Date): string {
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-');
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('');
  return `drawbridge-history-${day}-${time}.db`;
}

/** Whether a path is absolute on Unix or on Windows. */
export function isAbsolute(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
}

/** Joins a folder and a file name with the separator of the folder's system. */
export function joinPath(folder: string, name: string): string {
  const sign = /^(?:[A-Za-z]:|\\\\)/.test(folder) && !folder.includes('/') ? '\\' : '/';
  return `${folder.replace(/[\\/]+$/, '')}${sign}${name}`;
}

/** The folder of a file. */
export function folderOf(file: string): string {
  return file.replace(/[\\/][^\\/]*$/, '');
}
