package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlstore"
)

// openStore opens the database, and says what to do where it cannot be used.
func openStore(ctx context.Context, path string) (*sqlstore.Store, error) {
	st, err := sqlstore.Open(ctx, path)
	switch {
	case errors.Is(err, store.ErrNewer):
		return nil, precondition(err.Error(), "use the version of muster that wrote it, or newer")
	case errors.Is(err, store.ErrCorrupt):
		return nil, precondition(err.Error(), "restore a backup, or move the file away to begin anew")
	}
	return st, err
}

func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + ":" + strconv.Itoa(os.Getpid())
}

// precondition is a refusal to start that names the next step.
func precondition(detail, hint string) error {
	return &api.Problem{Title: http.StatusText(http.StatusConflict), Status: http.StatusConflict, Code: "conflict", Detail: detail, Hint: hint}
}
