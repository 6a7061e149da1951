package wholefile

import (
	"encoding/json"
	"errors"
	"os"
)

// ReadJSON reads what WriteJSON has written. Where there is no file, or path is empty,
// v stays as it is.
func ReadJSON(path string, v any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// WriteJSON gives a file v as its content, as Write does; with an empty path nothing is
// kept.
func WriteJSON(path string, v any) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Write(path, text)
}
