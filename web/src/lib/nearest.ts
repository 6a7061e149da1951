// The word that somebody may have meant.

/** How many letters have to be changed, put in, left out or swapped to make b of a (Damerau and Levenshtein, of adjacent letters). */
function apart(a: string, b: string): number {
  let two: number[] = []
  let one = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const now = [i]
    for (let k = 1; k <= b.length; k++) {
      const same = a[i - 1] === b[k - 1]
      now[k] = Math.min(one[k]! + 1, now[k - 1]! + 1, one[k - 1]! + (same ? 0 : 1))
      if (i > 1 && k > 1 && a[i - 1] === b[k - 2] && a[i - 2] === b[k - 1]) now[k] = Math.min(now[k]!, two[k - 2]! + 1)
    }
    two = one
    one = now
  }
  return one[b.length]!
}

/** The word that is most like what was written; undefined where none is like it. */
export function nearest(written: string, words: Iterable<string>): string | undefined {
  const low = written.toLowerCase()
  let best: string | undefined
  let least = Math.max(1, Math.floor(low.length / 3)) + 1
  for (const w of words) {
    const n = apart(low, w.toLowerCase())
    if (n < least) [best, least] = [w, n]
  }
  return best
}
