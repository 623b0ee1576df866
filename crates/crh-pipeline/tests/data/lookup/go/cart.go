package shop

import (
	"example.com/shop/money"
)

type Cart struct {
	prices []money.Money
}

type GiftCart struct {
	Cart
}

// New returns a Cart.
func New(prices ...money.Money) *Cart {
	return &Cart{prices: prices}
}

// Total is rounded, see money.Round.
func (c *Cart) Total() money.Money {
	total := money.New(0)
	for _, price := range c.prices {
		total = total.Add(price)
	}
	return money.Round(total)
}

func (c *Cart) Show() string {
	return c.Total().Show()
}

func (g *GiftCart) Total() money.Money {
	return g.Cart.Total().Add(money.New(300))
}
