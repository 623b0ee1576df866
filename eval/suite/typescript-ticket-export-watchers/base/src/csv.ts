/** One line of CSV, without the line break. */
export function csvLine(fields: readonly (string | number)[]): string {
  return fields
    .map((field) => {
      const text = String(field);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',');
}
