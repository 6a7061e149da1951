package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Escape keeps Kubernetes from putting variables in for $(NAME).
func Escape(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ReplaceAll(w, "$", "$$")
	}
	return out
}

// Digest is a short name for what is too long to be one.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
