// Package web serves the ticket desk over HTTP.
package web

import (
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"

	"example.org/ticketdesk/files"
)

// TenantOf returns the tenant of the signed-in user.
type TenantOf func(r *http.Request) (int64, bool)

// Attachment serves GET /attachment?name=...
func Attachment(store *files.Store, tenantOf TenantOf) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant, ok := tenantOf(r)
		if !ok {
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		}
		file, err := store.Open(tenant, r.URL.Query().Get("name"))
		switch {
		case errors.Is(err, files.ErrName):
			http.Error(w, "bad name", http.StatusBadRequest)
			return
		case errors.Is(err, fs.ErrNotExist):
			http.NotFound(w, r)
			return
		case err != nil:
			log.Printf("attachment: %v", err)
			http.Error(w, "cannot read the attachment", http.StatusInternalServerError)
			return
		}
		defer file.Close()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if _, err := io.Copy(w, file); err != nil {
			log.Printf("attachment: %v", err)
		}
	}
}
