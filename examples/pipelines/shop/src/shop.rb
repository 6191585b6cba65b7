puts "shop"
