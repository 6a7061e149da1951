package lifecycle

import (
	"fmt"
	"strings"
)

func pagePlatforms(b *strings.Builder) {
	b.WriteString(`## Platforms

Each platform's own machine, computed from the one above: an arrow stands where some event, condition or detail of a
task leads from one word to another. Its picture has what the platform's own documents draw or list, with the causes
that they name; where they name none, our events. What can happen only here, such as stopping what has not started,
follows as a table; ` + "`GET /v1/lifecycle?dialect=…`" + ` has it in the picture too, dashed in DOT and marked
` + MusterOnly + ` in Mermaid. +Scaling and -Scaling are the beginning and the end of a condition; silent and back say
whether a whole backend reports. Resources is whether a job holds them while that is said of it, where the platform's
documents have that column; what one holds at present is in gpusHeld of the API.
`)
	for _, d := range Dialects() {
		g := Diagram(d)
		fmt.Fprintf(b, "\n### %s\n\n```mermaid\n%s```\n\n", d, g.Own().Mermaid())
		pageVocabulary(b, d)
		b.WriteString("\nOnly here:\n\n| From | To | On |\n|---|---|---|\n")
		for _, a := range g.Arrows {
			if a.Extra {
				fmt.Fprintf(b, "| %s | %s | %s |\n", a.From, a.To, strings.Join(a.On, ", "))
			}
		}
	}
}

// pageVocabulary lists every word that d may say, and when.
func pageVocabulary(b *strings.Builder, d Dialect) {
	b.WriteString("| Word | Number | Colour | End | Resources | Phases | How it is reached |\n|---|---|---|---|---|---|---|\n")
	for _, w := range Words(d) {
		number := ""
		if w.Code != nil {
			number = fmt.Sprint(*w.Code)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			w.Status, number, w.Color, yes(w.End), w.Resources, joinPhases(PhasesOf(d, w.Status)), strings.Join(Ways(d, w.Status), "; "))
	}
}
