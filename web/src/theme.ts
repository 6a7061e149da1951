// Runs before anything is drawn, so that whoever prefers the dark never sees a
// flash of the light.
try {
  const theme = JSON.parse(localStorage.getItem('muster.theme') ?? 'null')
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
} catch {
  // What is kept there is nothing of ours: the system's theme it is.
}
