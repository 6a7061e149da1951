package secret

import (
	"fmt"
	"slices"
)

// Safe keeps keys elsewhere than in a file of the machine: a vault, or whatever else
// returns what it was given and tells who was faster.
type Safe interface {
	fmt.Stringer // where they are, for people
	// Keys returns what is kept, lines as in the file of keys, and its version; nothing
	// and 0 where nothing has ever been kept.
	Keys() (text []byte, version int, err error)
	// Keep puts text in the place of a version, 0 for none. It fails where that is not
	// the present one any more.
	Keep(text []byte, version int) error
}

// OpenKept reads the keys of a safe, which is given a first one where it has none.
func OpenKept(k Safe) (*Box, error) {
	keys, err := keptKeys(k, true)
	if err != nil {
		return nil, fmt.Errorf("the keys of the secrets: %w", err)
	}
	return &Box{
		path: k.String(), keys: &keys,
		read: func() ([]key, error) { return keptKeys(k, false) },
		add:  func() ([]key, error) { return keepOneMore(k) },
	}, nil
}

// keptKeys reads what is kept; where it may, it makes the first key. Where two servers do
// so at once, both take what is then there.
func keptKeys(k Safe, first bool) ([]key, error) {
	text, version, err := k.Keys()
	if err != nil {
		return nil, err
	}
	if version > 0 {
		return parseKeys(text, k.String())
	}
	if !first {
		return nil, fmt.Errorf("%s: nothing is kept there", k)
	}
	newest, err := newKey()
	if err != nil {
		return nil, err
	}
	// Whoever was slower fails here, and reads what the other has kept.
	failed := k.Keep(written([]key{newest}), 0)
	if text, version, err = k.Keys(); err != nil || version == 0 {
		return nil, fmt.Errorf("a first key cannot be kept: %w", cause(failed, err))
	}
	return parseKeys(text, k.String())
}

func cause(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("it was not there afterwards")
}

// keepOneMore puts a new key before those that are kept.
func keepOneMore(k Safe) ([]key, error) {
	text, version, err := k.Keys()
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(text, k.String())
	if err != nil {
		return nil, err
	}
	if len(keys) == maxKeys {
		return nil, fmt.Errorf("%s has %d keys already; seal all secrets anew and remove those that are not needed any more", k, maxKeys)
	}
	newest, err := newKey()
	if err != nil {
		return nil, err
	}
	keys = slices.Insert(keys, 0, newest)
	return keys, k.Keep(written(keys), version)
}
