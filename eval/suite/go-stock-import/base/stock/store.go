// Package stock keeps the number of items per article.
package stock

import (
	"fmt"
	"sync"
)

// Store holds the stock levels. Changes go through a Tx.
type Store struct {
	mu     sync.Mutex
	levels map[string]int
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{levels: make(map[string]int)}
}

// Level returns the number of items of an article.
func (s *Store) Level(article string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.levels[article]
}

// Begin starts a transaction. There is one at a time: the store is locked
// until Commit or Rollback.
func (s *Store) Begin() *Tx {
	s.mu.Lock()
	return &Tx{store: s, changes: make(map[string]int)}
}

// Tx is a set of changes that take effect together.
type Tx struct {
	store   *Store
	changes map[string]int
}

// Adjust changes the level of an article. Levels cannot go below zero.
func (tx *Tx) Adjust(article string, delta int) error {
	change := tx.changes[article] + delta
	if tx.store.levels[article]+change < 0 {
		return fmt.Errorf("stock: not enough of %q", article)
	}
	tx.changes[article] = change
	return nil
}

// Commit makes the changes visible and ends the transaction.
func (tx *Tx) Commit() {
	for article, change := range tx.changes {
		tx.store.levels[article] += change
	}
	tx.store.mu.Unlock()
}

// Rollback forgets the changes and ends the transaction.
func (tx *Tx) Rollback() {
	tx.store.mu.Unlock()
}
