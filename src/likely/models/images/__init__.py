"""Networks for images: CNN, ResNet, U-Net."""
