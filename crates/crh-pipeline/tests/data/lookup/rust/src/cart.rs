use crate::money::{round_money, Money as Amount, Shown};

pub struct Cart {
    pub prices: Vec<Amount>,
}

impl Cart {
    pub fn new(prices: Vec<Amount>) -> Self {
        Self { prices }
    }

    /// The total, see [`round_money`].
    pub fn total(&self) -> Amount {
        let mut total = Amount::new(0);
        for price in &self.prices {
            total = total.add(*price);
        }
        round_money(total)
    }
}

impl Shown for Cart {
    fn show(&self) -> String {
        self.total().show()
    }
}

pub struct GiftCart(pub Cart);

impl GiftCart {
    pub fn total(&self) -> Amount {
        self.0.total().add(Amount::new(300))
    }
}
