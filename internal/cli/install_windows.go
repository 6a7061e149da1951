package cli

import "errors"

func giveTo(string, string) error { return errors.ErrUnsupported }
