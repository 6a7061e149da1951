package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/musterhq/muster/internal/core"
)

// Errors that callers tell apart.
var (
	// ErrNoKey says that a value was sealed with a key that the file has not.
	ErrNoKey = errors.New("it was sealed with another key")
	// ErrChanged says that a sealed value is not what was sealed for that user,
	// name and type.
	ErrChanged = errors.New("its sealed value was changed, or belongs to another user, name or type")
)

// What is sealed is a version, which key it was, a nonce, and what AES-256-GCM
// makes of the values, with the owner as additional data.
const (
	version   = 1
	keyIDSize = 4
	nonceSize = 12
	headSize  = 1 + keyIDSize + nonceSize
)

// Box seals values and opens them. Its methods may be called concurrently.
// Printed, it says where its keys are and nothing else.
type Box struct {
	path string                // where the keys are, for people
	read func() ([]key, error) // again
	add  func() ([]key, error) // a newest one
	mu   sync.RWMutex
	keys *[]key // newest first; a pointer, which no printing follows
}

// Open reads the keys at path and makes the file, with its folder and a first
// key, where it is missing. It refuses a file that others may read or that is
// not whole.
func Open(path string) (*Box, error) {
	keys, err := openKeys(path)
	if err != nil {
		return nil, fmt.Errorf("the keys of the secrets: %w", err)
	}
	return &Box{path: path, keys: &keys, read: func() ([]key, error) { return readKeys(path) }, add: func() ([]key, error) { return addKey(path) }}, nil
}

// Rotate adds a new key, which seals from now on; the others still open what
// they have sealed. What was sealed before stays as it is, see Reseal.
func (b *Box) Rotate() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys, err := b.add()
	if err != nil {
		return fmt.Errorf("a new key for the secrets: %w", err)
	}
	b.keys = &keys
	return nil
}

// Seal encrypts values for one secret and no other: they open only for the
// same user, name and type.
func (b *Box) Seal(id core.SecretID, typ string, values map[string][]byte) ([]byte, error) {
	plain, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("secret %q: its values cannot be written", id.Name) // err might show them
	}
	b.mu.RLock()
	k := (*b.keys)[0]
	b.mu.RUnlock()
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	head := make([]byte, headSize, headSize+len(plain)+aead.Overhead())
	head[0] = version
	copy(head[1:], k.id())
	if _, err := rand.Read(head[1+keyIDSize:]); err != nil {
		return nil, err
	}
	return aead.Seal(head, head[1+keyIDSize:], plain, owner(head, id, typ)), nil
}

// Unseal opens what Seal made. It fails with ErrNoKey and ErrChanged.
func (b *Box) Unseal(s core.Secret) (Values, error) {
	values, err := b.unseal(s)
	if errors.Is(err, ErrNoKey) { // another process may have rotated
		if keys, again := b.read(); again == nil {
			b.mu.Lock()
			b.keys = &keys
			b.mu.Unlock()
			values, err = b.unseal(s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("secret %q of user %q cannot be opened: %w", s.Name, s.User, err)
	}
	return values, nil
}

func (b *Box) unseal(s core.Secret) (Values, error) {
	if len(s.Sealed) < headSize || s.Sealed[0] != version {
		return nil, fmt.Errorf("%w; make the secret anew", ErrChanged)
	}
	head, sealed := s.Sealed[:headSize], s.Sealed[headSize:]
	b.mu.RLock()
	keys := *b.keys
	b.mu.RUnlock()
	known := false
	for _, k := range keys {
		if !bytes.Equal(k.id(), head[1:1+keyIDSize]) {
			continue
		}
		known = true
		aead, err := k.aead()
		if err != nil {
			return nil, err
		}
		plain, err := aead.Open(nil, head[1+keyIDSize:], sealed, owner(head, core.SecretID{User: s.User, Name: s.Name}, s.Type))
		if err != nil {
			continue // another key of the same id: one in four thousand million
		}
		values := map[string][]byte{}
		if json.Unmarshal(plain, &values) != nil {
			return nil, fmt.Errorf("%w; make the secret anew", ErrChanged)
		}
		return values, nil
	}
	if !known {
		return nil, fmt.Errorf("%w, %s, that %s has not; put the former file back, or make the secret anew",
			ErrNoKey, hex.EncodeToString(head[1:1+keyIDSize]), b.path)
	}
	return nil, fmt.Errorf("%w; make the secret anew", ErrChanged)
}

// Reseal is s sealed with the newest key. Once all are, the older keys can be
// taken out of the file.
func (b *Box) Reseal(s core.Secret) (core.Secret, error) {
	values, err := b.Unseal(s)
	if err != nil {
		return s, err
	}
	s.Sealed, err = b.Seal(core.SecretID{User: s.User, Name: s.Name}, s.Type, values)
	return s, err
}

// owner is the additional data: whose it is, each part with its length, so that
// no other split gives the same.
func owner(head []byte, id core.SecretID, typ string) []byte {
	data := bytes.Clone(head[:1+keyIDSize])
	for _, part := range []string{id.User, id.Name, typ} {
		data = binary.AppendUvarint(data, uint64(len(part)))
		data = append(data, part...)
	}
	return data
}

// key is 32 bytes for AES-256.
type key [32]byte

// id says which key it is and nothing about it.
func (k key) id() []byte {
	sum := sha256.Sum256(append([]byte("muster secret key id\x00"), k[:]...))
	return sum[:keyIDSize]
}

func (k key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// String is where the keys are.
func (b *Box) String() string { return "keys of " + b.path }

// Format writes String, whatever the verb.
func (b *Box) Format(f fmt.State, _ rune) { fmt.Fprint(f, b.String()) }

// MarshalJSON writes String.
func (b *Box) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }
