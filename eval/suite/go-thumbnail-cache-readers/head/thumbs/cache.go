// Package thumbs keeps rendered thumbnails in memory.
package thumbs

import (
	"sync"
	"sync/atomic"
)

// Cache holds thumbnails up to a number of bytes. It is safe for
// concurrent use. The images must not be changed by the callers.
type Cache struct {
	mu    sync.RWMutex
	order *order
	size  int
	limit int
	hits  atomic.Uint64
}

// NewCache returns a cache for at most limit bytes of images.
func NewCache(limit int) *Cache {
	return &Cache{order: newOrder(), limit: limit}
}

// Get returns the thumbnail for a key.
func (c *Cache) Get(key string) ([]byte, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.order.lookup(key)
	if !ok {
		return nil, false
	}
	c.hits.Add(1)
	return e.image, true
}

// Put stores a thumbnail and makes room for it if necessary. Images that
// are larger than the whole cache are not kept.
func (c *Cache) Put(key string, image []byte) {
	if len(image) > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.order.lookup(key); ok {
		c.size += len(image) - len(e.image)
		e.image = image
	} else {
		c.order.add(&entry{key: key, image: image})
		c.size += len(image)
	}
	for c.size > c.limit {
		c.size -= len(c.order.dropOldest().image)
	}
}

// Size returns the bytes in use.
func (c *Cache) Size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.size
}

// Hits returns how often Get found something.
func (c *Cache) Hits() uint64 {
	return c.hits.Load()
}
