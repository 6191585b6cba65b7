mod layers;
mod made;
mod user;
