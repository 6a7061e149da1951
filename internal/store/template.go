package store

import "fmt"

// CheckTemplates refuses templates without a name or a version.
func CheckTemplates(b *Batch) error {
	for i := range b.Templates {
		if t := &b.Templates[i]; t.Name == "" || t.Project == "" || t.Kind == "" || len(t.Versions) == 0 {
			return fmt.Errorf("template %d of the batch: it has no complete name, or no version", i)
		}
	}
	return nil
}
