package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Token is a secret that only this server can make, always the same for one
// purpose. It follows from the oldest key, so that it outlives Rotate.
func (b *Box) Token(purpose string) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	oldest := (*b.keys)[len(*b.keys)-1]
	h := hmac.New(sha256.New, oldest[:])
	h.Write([]byte("token\x00" + purpose))
	return hex.EncodeToString(h.Sum(nil))
}
