/** What the history has in place of secrets, and of the rest of long texts. */
const marks = ['[redacted]', ' characters not recorded, sha256 '];

/** Whether a recorded text lacks parts, so that sending it would send the marks in their place. */
export const hasMarks = (text: string): boolean => marks.some((mark) => text.includes(mark));
