use crate::cart::GiftCart;
use crate::money::{self, Shown};
use crate::{cents, Cart};

pub fn print_report(items: &[&dyn Shown]) {
    for item in items {
        println!("{}", item.show());
    }
    println!("round_money was used");
}

pub fn run() {
    let cart = Cart::new(vec![cents!(5)]);
    print_report(&[&cart, &money::round_money(cart.total())]);
    let gift = GiftCart(cart);
    assert_eq!(gift.total().show(), "305");
    let total = print_report;
    total(&[]);
}
